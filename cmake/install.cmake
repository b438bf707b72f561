include(CMakePackageConfigHelpers)
install(TARGETS ellice EXPORT elliceTargets FILE_SET HEADERS)
install(EXPORT elliceTargets NAMESPACE ellice:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ellice)
configure_package_config_file(cmake/elliceConfig.cmake.in elliceConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ellice)
write_basic_package_version_file(elliceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/elliceConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/elliceConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ellice)
if(ELLICE_BUILD_APPS)
  install(TARGETS ellice_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
